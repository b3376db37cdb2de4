print("ocelli")
