"""The scikit-learn interface: checks of user input, fit and predict with domains, warnings."""
