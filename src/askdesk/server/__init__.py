"""The same verbs over HTTP, with tokens, and the page where people answer."""
