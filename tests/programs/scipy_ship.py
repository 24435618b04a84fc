"""A transport LP with scipy's linprog, data from data.json, inside a function under the main guard."""

import json

from scipy.optimize import linprog


def main():
    with open("data.json") as file:
        data = json.load(file)
    pairs = [(i, j) for i in data["depots"] for j in data["shops"]]
    stock = [[1.0 * (i == depot) for i, _ in pairs] for depot in data["depots"]]
    need = [[-1.0 * (j == shop) for _, j in pairs] for shop in data["shops"]]
    right = [data["stock"][i] for i in data["depots"]] + [-data["need"][j] for j in data["shops"]]
    r = linprog([data["cost"][i][j] for i, j in pairs], A_ub=stock + need, b_ub=right, method="highs")
    print(f"optimal_value = {r.fun}" if r.status == 0 else "status = infeasible" if r.status == 2 else r.message)


if __name__ == "__main__":
    main()
