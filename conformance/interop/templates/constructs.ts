/** Constructs worth a case each, over the context of random-template.ts. */
export const constructs: readonly string[] = [
  "{{ strftime_now('%Y-%m-%d %H:%M:%S %A %a %B %b %d %-d %e %j %U %W %V %G %u %w %y %I %p %% %c %x %X %D %F %T %R %Z%z') }}",
]
