"""Image goals by local features: three matchers behind one interface, and the geometry that verifies them."""
