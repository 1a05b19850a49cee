import Foundation
import MachineCore
import StreamCore
import Testing

@Suite struct TelemetrySeriesTests {
    private static let edges: [Int64] = [0, 1, -1, .min, .max, .min + 1, .max - 1]

    @Test func `similar neighbours become small numbers`() {
        #expect(IntegerSeries([100, 101, 99, 99]).codes == [200, 2, 3, 0])
        #expect(IntegerSeries([1000, 1100, 1200, 1301], differences: .second).codes == [2000, 1799, 0, 2])
        #expect(NumberSeries([189.5, 189.51, 189.49]).codes == [37900, 2, 3])
        #expect(NumberSeries([189.5, 189.51, 189.49]).decimals == 2)
    }

    @Test(arguments: IntegerSeries.Differences.allCases)
    func `integers are restored exactly`(differences: IntegerSeries.Differences) throws {
        var chance = SplitMix64(seed: 7)
        for length in 0..<200 {
            let numbers = (0..<length).map { _ -> Int64 in
                Bool.random(using: &chance) ? Self.edges.randomElement(using: &chance)! : .random(in: .min ... .max, using: &chance)
            }
            let series = IntegerSeries(numbers, differences: differences)
            #expect(series.numbers == numbers && series.codes.count == length)
            let json = try JSONEncoder().encode(series)
            #expect(try JSONDecoder().decode(IntegerSeries.self, from: json).numbers == numbers)
        }
    }

    @Test func `floating-point numbers are restored bit by bit`() throws {
        var chance = SplitMix64(seed: 8)
        let special: [Double] = [0, -0.0, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1, 1e-9, 1e300]
        for round in 0..<300 {
            let length = Int.random(in: 0..<40, using: &chance)
            let numbers = (0..<length).map { _ -> Double in
                switch round % 4 {
                case 0: Double(Int.random(in: -10_000...10_000, using: &chance)) / 100
                case 1: special.randomElement(using: &chance)!
                case 2: Double(bitPattern: .random(in: .min ... .max, using: &chance))
                default: Double.random(in: 20...21, using: &chance)
                }
            }
            let series = NumberSeries(numbers)
            #expect(series.numbers.map(\.bitPattern) == numbers.map(\.bitPattern))
            if round % 4 == 0 { #expect(series.decimals != nil) }
            let json = try JSONEncoder().encode(series)
            #expect(try JSONDecoder().decode(NumberSeries.self, from: json) == series)
        }
    }

    @Test func `a negative zero stays negative`() {
        #expect(NumberSeries([0, -0.0, 1]).numbers.map(\.sign) == [.plus, .minus, .plus])
    }

    @Test func `short binary fractions use few bytes too`() {
        let series = NumberSeries((0..<20).map { 1 + Double($0 % 7) / 1024 })
        #expect(series.decimals == nil && series.codes.dropFirst().allSatisfy { $0 < 1 << 23 })
    }

    @Test func `any input of a peer is a series or an error`() throws {
        var chance = SplitMix64(seed: 9)
        for decimals in [nil, 0, 9, 10, -1, Int.max, Int.min] {
            let codes = (0..<50).map { _ in UInt64.random(in: .min ... .max, using: &chance) } + [.min, .max, .max, 1, .max]
            let json = Data("{\"c\":\(codes)\(decimals.map { ",\"s\":\($0)" } ?? "")}".utf8)
            if let decimals, !(0...9).contains(decimals) {
                #expect(throws: DecodingError.self) { try JSONDecoder().decode(NumberSeries.self, from: json) }
            } else {
                #expect(try JSONDecoder().decode(NumberSeries.self, from: json).numbers.count == codes.count)
            }
            for order in 1...2 {
                let json = Data("{\"d\":\(order),\"c\":\(codes)}".utf8)
                #expect(try JSONDecoder().decode(IntegerSeries.self, from: json).codes == codes)
                #expect(try JSONDecoder().decode(IntegerSeries.self, from: json).numbers.count == codes.count)
            }
        }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(IntegerSeries.self, from: Data("{\"d\":3,\"c\":[]}".utf8)) }
    }
}
