/// Made-up names of symbols, by sector: `BANK`, `SAIL`, …, then `BANK.K3` and so on.
enum MarketNames {
    static let sectors = [
        "BANK", "SAIL", "GRID", "LOOM", "MILL", "PORT", "SEED", "CHIP", "WAVE", "RAIL", "FARM", "STAR", "CORE", "REEF", "DUNE", "MINT",
    ]
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    private static let signs = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")

    /// The sector of a symbol: neighbours are in different ones.
    static func sector(of symbol: Int) -> Int { symbol % sectors.count }

    /// The name of a symbol; no two of a market are the same.
    static func name(of symbol: Int) -> String {
        let (place, sector) = symbol.quotientAndRemainder(dividingBy: sectors.count)
        guard place > 0 else { return sectors[sector] }
        // 365 has no factor in common with the number of suffixes, so every place gets one of its own.
        let suffix = place * 365 % (letters.count * signs.count)
        return "\(sectors[sector]).\(letters[suffix / signs.count])\(signs[suffix % signs.count])"
    }
}
