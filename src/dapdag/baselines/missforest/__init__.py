"""MissForest (Stekhoven and Bühlmann 2012): the labels of the target as missing cells."""
