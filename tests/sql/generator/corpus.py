def replay(*a): pass
