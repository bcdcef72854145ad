"""Pictures and reports of what was set up and what was learnt.

Nothing is imported here, so that matplotlib is loaded only where a picture is drawn.
"""
