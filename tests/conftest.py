"""What all tests of this folder have in common."""

from hypothesis import settings

# How long an example takes tells of the machine and of what else it does, not of what is tested.
settings.register_profile("mqgateway", deadline=None)
settings.load_profile("mqgateway")
