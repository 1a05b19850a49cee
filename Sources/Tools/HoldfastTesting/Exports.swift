// A test that writes `import HoldfastTesting` also gets what it tests: messages, transports, machines.
@_exported public import Holdfast
@_exported public import MachineCore
