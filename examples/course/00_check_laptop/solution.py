"""The demo's model stopped by itself; nobody has checked its answer."""

STATE = "model_ended"
