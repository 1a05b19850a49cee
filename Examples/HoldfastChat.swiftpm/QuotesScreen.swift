import QuotesCore
import SwiftUI

/// The newest quote of each symbol, grey while it is old.
struct QuotesScreen: View {
    let board: QuoteBoard

    var body: some View {
        NavigationStack {
            List(board.quotes, id: \.symbol) { quote in
                HStack {
                    Text(verbatim: quote.symbol).font(.headline)
                    Spacer()
                    Text(verbatim: price(quote)).monospacedDigit()
                }
                .foregroundStyle(quote.isCurrent ? Color.primary : Color.gray)
                .accessibilityElement(children: .combine)
            }
            .navigationTitle("Quotes")
        }
        .task { await board.follow() }
    }

    private func price(_ quote: Quote) -> String {
        (Double(quote.last) / Double(Quote.priceScale)).formatted(.number.precision(.fractionLength(2)))
    }
}
