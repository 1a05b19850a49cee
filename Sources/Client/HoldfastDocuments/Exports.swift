// `import HoldfastDocuments` also gives the app the document, and the socket below.
@_exported public import DocumentCore
@_exported public import Holdfast
