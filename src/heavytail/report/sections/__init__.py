"""The sections of a report: plain records that the templates turn into HTML."""
