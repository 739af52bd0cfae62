"""The face of scikit-learn: checks of user input, fit and predict with domains, warnings."""
