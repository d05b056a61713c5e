"""What all measurements share: the build's programs, limits on memory, samples of it, and honest figures."""
