// `import HoldfastQuotes` also gives the app quotes, patterns, counts, and the socket below.
@_exported public import Holdfast
@_exported public import QuotesCore
