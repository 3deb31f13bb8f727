"""Stands in for wandb, to which the peers log nothing."""


class Table:
    def __init__(self, columns):
        self.columns = columns

    def add_data(self, *_):
        pass
