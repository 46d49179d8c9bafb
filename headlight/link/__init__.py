"""The grammar of links: fields, limits, masks, cursor and display options."""
