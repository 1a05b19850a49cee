// A test writes `import HoldfastTesting` and has what it tests: messages, transports, machines.
@_exported public import Holdfast
