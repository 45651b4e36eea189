"""Report → Report: findings that the user accepts are set apart and counted; what accepts nothing is a finding."""
