"""An estimate in the formats of others: one file per format behind one signature (docs/exports.md).

A format writes a `Draft` from an `Identified` robot and reads the parameters back by name;
`formats.export_as` puts the two together, and says what the file does not hold.
"""
