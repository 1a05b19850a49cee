extension String {
    /// A bar, `width` columns long for the greatest value there is, to an eighth of a column; what is there at all is seen.
    init(bar value: Double, of most: Double, width: Int) {
        guard value > 0, most > 0 else {
            self = ""
            return
        }
        let eighths = Swift.max(1, Int((value / most * Double(width * 8)).rounded()))
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        self = String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    }
}
