"""The plan of test_capture.py in highspy; the objective constant needs a call of its own."""

import highspy

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

h = highspy.Highs()
h.setOptionValue("output_flag", False)
make = {g: h.addVariable(lb=0, ub=7, type=highspy.HighsVarType.kInteger, name=f"make[{g}]") for g in goods}
hire = h.addVariable(lb=-highspy.kHighsInf, name="hire")
buy = h.addVariable(lb=0, ub=12.5, name="buy")
h.addConstr(sum(make[g] for g in goods) == hire + buy + 1, name="balance")
h.addConstr(-3 <= hire - make["elm"] <= 4.5, name="drift")
h.addConstr(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, name="wood")
h.maximize(sum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25)
print("optimal_value =", h.getObjectiveValue())
