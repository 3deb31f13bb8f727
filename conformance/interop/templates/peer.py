# Renders templates with Python's Jinja, set up as transformers sets it up: one JSON request a line, one answer a line.
import json
import sys
from datetime import datetime

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(format):
    return datetime(2026, 2, 8, 15, 4, 5).strftime(format)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = strftime_now

for line in sys.stdin:
    request = json.loads(line)
    try:
        text = environment.from_string(request["template"]).render(**request["context"])
        answer = {"text": text}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:200]}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
