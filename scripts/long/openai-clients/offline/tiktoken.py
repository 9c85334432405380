"""Stands in for tiktoken, which downloads its tables. Inspect counts the tokens of its mock model with it."""


def get_encoding(_):
    return Words()


class Words:
    """One token for each word."""

    def encode(self, text, **_):
        return text.split()
