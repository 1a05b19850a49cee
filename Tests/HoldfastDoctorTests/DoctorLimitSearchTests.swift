import Testing

@testable import HoldfastDoctor

@Suite struct DoctorLimitSearchTests {
    /// Asks until it is found, of a server with this limit.
    private func ask(limit: Int, cap: Int) -> (search: LimitSearch, questions: Int) {
        var (search, questions) = (LimitSearch(cap: cap), 0)
        while let size = search.next, questions < 200 {
            questions += 1
            if size <= limit { search.took(size) } else { search.refused(size) }
        }
        return (search, questions)
    }

    @Test(arguments: [0, 1, 2, 1000, 1023, 1024, 1025, 5000, 65_535, 65_536, 99_999, 1_000_000, 1_048_576, 1_048_577, 3_333_333, 4_194_303])
    func `a limit below the cap is found to the byte`(limit: Int) {
        let (search, questions) = ask(limit: limit, cap: 4 << 20)
        #expect(search.taken == limit && search.refused == limit + 1 && questions <= 40)
    }

    @Test(arguments: [65_536, 1 << 20, 1_000_000, 16_384, 100_000])
    func `a round limit takes few questions`(limit: Int) { #expect(ask(limit: limit, cap: 4 << 20).questions <= 12) }

    @Test func `nothing beyond the cap is tried`() {
        let (search, questions) = ask(limit: .max, cap: 100_000)
        #expect(search.taken == 100_000 && search.refused == nil && questions == 5)
    }

    @Test func `a cap below the first size is kept`() { #expect(LimitSearch(cap: 10).next == 10) }
}
