/** Constructs worth a case each, over the context of vocabulary.ts. */
export const constructs: readonly string[] = [
  "{{ strftime_now('%Y-%m-%d %H:%M:%S %A %a %B %b %d %-d %e %j %U %W %V %G %u %w %y %I %p %% %c %x %X %D %F %T %R %Z%z') }}",
  "{{ ('word ' * 20) | pprint }}{{ {'key': ['x' * 40, 'y' * 40], none: 1, 2: 'z'} | pprint }}",
  "{{ ('a\\nb ' * 30) | pprint }}{{ [('a\\nb ' * 30, 1)] | pprint }}",
  "{{ 'see http://a.bc/d. (www.a.org) http://a.bc/x_(y) me@a.bc <b> tel:1 a:b @c d@ http://[::1]/' | urlize(12, extra_schemes=['tel:']) }}",
  "{{ 'one two  three well-known co-op--so\\n\\nabcdefghijk' | wordwrap(5) }}{{ '😀😀😀 a' | wordwrap(2, false) }}",
  "{% for i in [1] %}{% autoescape b %}{% break %}{% endautoescape %}{% endfor %}{{ ['<', '<' | safe] | join }}{{ [t, '<' | safe] | join }}",
  "{% macro m() %}{{ ['<', '<' | safe] | join }}{{ [t, '<' | safe] | join }}{% endmacro %}{% autoescape true %}{{ m() }}{% endautoescape %}",
  "{% macro m() %}<i>{% endmacro %}{% autoescape true %}{{ m() is escaped }}{{ m() ~ '<' }}{% endautoescape %}{{ m() is escaped }}",
  "{% autoescape true %}{% set v %}<b>{% endset %}{{ v }}{{ s ~ '<' }}{{ ('<' | safe) ~ s ~ '<' }}{% filter upper %}<i>{% endfilter %}{% endautoescape %}",
  "{% autoescape b %}{{ '<' }}{{ '<' ~ '&' }}{{ t }}{% autoescape false %}{{ t }}{% endautoescape %}{{ t }}{% endautoescape %}",
  "{% block x %}{{ t }}{% endblock %}{% autoescape true %}{{ self.x() }}{% endautoescape %}",
  "{% autoescape true %}{% for i in [[1, ['<']]] recursive %}{{ i }}{% if i is not string and i is not number %}{{ loop(i) }}{% endif %}{% endfor %}{% endautoescape %}",
  "{{ ('a &amp; <!-- <b> --><i>b</i> < c &#65;&#x42;' | safe).striptags() }}{{ '<!-- x' | striptags }}{{ '<!-->a<b' | striptags }}",
  "{{ ('<i>%s|%r|%5.1f|%d</i>' | safe) % (t, [t], '1.25', '42') }}{{ ('{:>3}|{}|{!r}' | safe).format('&', '<b>' | safe, t) }}",
  "{{ dict.fromkeys(['a', 'b'], 1) }}{{ dict.fromkeys(m) }}",
  "{% call(x) m() %}{% endcall %}",
]
