import Foundation
import FuzzTargets
import MachineCore
import Testing

@Suite struct CorpusTests {
    @Test(arguments: FuzzTarget.allCases)
    func `no input of the corpus violates an invariant`(target: FuzzTarget) throws {
        let inputs = try corpus(of: target)
        #expect(!inputs.isEmpty)
        for input in inputs { try check(input.bytes, target, input.name) }
    }

    @Test(arguments: FuzzTarget.allCases)
    func `no mutation of a corpus input violates an invariant`(target: FuzzTarget) throws {
        var random = SplitMix64(seed: 2026)
        let inputs = try corpus(of: target)
        for round in 0..<(2000 / inputs.count) {
            for input in inputs {
                try check(mutated(input.bytes, inputs.randomElement(using: &random)!.bytes, &random), target, "\(input.name) #\(round)")
            }
        }
    }

    private struct Violation: Error, CustomStringConvertible { let description: String }

    private func check(_ bytes: [UInt8], _ target: FuzzTarget, _ name: String) throws {
        do {
            try bytes.withUnsafeBytes { try target.run($0) }
        } catch {
            throw Violation(description: "\(target.rawValue)/\(name): \(error)\n\(Data(bytes).base64EncodedString())")
        }
    }

    /// Some of libFuzzer's mutations, the same in every run.
    private func mutated(_ bytes: [UInt8], _ other: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where place < bytes.count: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
            case 2 where place < bytes.count: bytes.remove(at: place)
            case 3: bytes.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
            default: bytes.replaceSubrange(place..., with: other.suffix(Int.random(in: 0...other.count, using: &random)))
            }
        }
        return bytes
    }

    private func corpus(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appending(path: "Fuzz/Corpus/\(target.rawValue)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.path < $1.path }.map { ($0.lastPathComponent, [UInt8](try Data(contentsOf: $0))) }
    }
}
