import pulp

m = pulp.LpProblem("swings", pulp.LpMinimize)
up = pulp.LpVariable("swing+", lowBound=0)
down = pulp.LpVariable("swing-", lowBound=0)
m += 2 * up + 3 * down
m += up - down == 1
m += up + down >= 5
m.solve(pulp.PULP_CBC_CMD(msg=0))
print("optimal_value =", pulp.value(m.objective))
