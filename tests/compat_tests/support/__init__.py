"""What the scenarios stand on, as far as it decides anything by itself."""
