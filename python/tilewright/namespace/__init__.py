"""The functions of the array API standard, which tilewright itself has."""
