"""Stands in for transformers, of which the peers need the name of a tokenizer and its decode."""


class _Tokenizer:
    name_or_path = "stand-in"

    def decode(self, tokens, **_):
        return "".join(chr(64 + token % 26) for token in tokens)

    def encode(self, text, **_):
        return [ord(letter) for letter in text]


class AutoTokenizer:
    @staticmethod
    def from_pretrained(*_, **__):
        return _Tokenizer()


class PreTrainedTokenizer(_Tokenizer):
    pass
