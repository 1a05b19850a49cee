import ArgumentParser

/// What the messages of a benchmark are.
enum PayloadKind: String, EnumerableFlag {
    case binary, text
}
