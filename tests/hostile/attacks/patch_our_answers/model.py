import numpy as np
from helpers import Honest, server

main = server()
main._plain = lambda predictions, n_rows: np.full(n_rows, np.nan).data.cast("B")


class Model(Honest):
    def predict(self, X):
        return super().predict(X) * np.nan
