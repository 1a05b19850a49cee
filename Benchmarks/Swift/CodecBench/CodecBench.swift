import Foundation

/// Measures encoding and decoding with Holdfast's coders and Foundation's.
///
/// `Benchmarks/codecs/run.py` starts it.
///
/// `CodecBench samples FOLDER` writes the samples as JSON for peers in other languages.
///
/// `CodecBench measure MILLISECONDS` prints one figure per line, `CODEC SAMPLE DIRECTION NANOSECONDS BYTES`, each measured for this time.
@main enum CodecBench {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch (arguments.first, arguments.count) {
        case ("samples", 2):
            let folder = URL(filePath: CommandLine.arguments[2])
            for sample in Sample.all {
                try sample.json().write(to: folder.appending(path: "\(sample.name.replacing(" ", with: "-")).json"))
            }
        case ("measure", 2):
            guard let milliseconds = Int(CommandLine.arguments[2]), milliseconds > 0 else { fail() }
            for codec in Codec.allCases {
                for sample in Sample.all { try sample.measure(codec, .milliseconds(milliseconds)) }
            }
        default: fail()
        }
    }

    private static func fail() -> Never {
        FileHandle.standardError.write(Data("usage: CodecBench samples FOLDER | measure MILLISECONDS\n".utf8))
        exit(2)
    }
}
