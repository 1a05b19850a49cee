import Foundation

/// A chain of three certificates and client certificates, made for each test run with the `openssl` command.
struct TrustCertificates: Sendable {
    private let folder: URL

    static func shared() throws -> TrustCertificates { try made.get() }
    private static let made = Result { try TrustCertificates() }

    /// The path of a file that ``init()`` made, such as `root.pem`.
    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// The pin of a certificate's key, as `openssl` computes it.
    func keyPin(_ name: String) throws -> String {
        let command = "openssl x509 -in \(name).pem -pubkey -noout | openssl pkey -pubin -outform der"
        return "sha256/" + (try run(command + " | openssl dgst -sha256 -binary | openssl base64 -A"))
    }

    /// The pin of a certificate, as `openssl` computes it.
    func certificatePin(_ name: String) throws -> String {
        "cert-sha256/" + (try run("openssl x509 -in \(name).pem -outform der | openssl dgst -sha256 -binary | openssl base64 -A"))
    }

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try run(Self.script)
        atexit { if let made = try? TrustCertificates.made.get() { try? FileManager.default.removeItem(at: made.folder) } }
    }

    @discardableResult private func run(_ script: String) throws -> String {
        struct Failed: Error { let output: String }
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-ec", script]
        process.currentDirectoryURL = folder
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(output: text) }
        return text
    }

    private static let script = """
        ec="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        authority='basicConstraints=critical,CA:TRUE'
        issue() { # name issuer extension key-options…
            name=$1; issuer=$2; extension=$3; shift 3
            openssl req -new -subj "/CN=Trust $name" -out $name.csr -keyout $name.key "$@"
            echo "$extension" > $name.ext
            openssl x509 -req -in $name.csr -CA $issuer.pem -CAkey $issuer.key -days ${days:-3} -extfile $name.ext -out $name.pem \\
                -set_serial $(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
        }
        openssl req -x509 -days 3 -subj "/CN=Trust root" -out root.pem -keyout root.key $ec
        issue between root "$authority" $ec
        issue leaf between 'subjectAltName=DNS:localhost' $ec
        issue rsa root 'subjectAltName=DNS:localhost' -newkey rsa:2048 -nodes
        issue other root 'subjectAltName=DNS:other.example' $ec
        issue address root 'subjectAltName=DNS:other.example,IP:127.0.0.1' $ec
        (days=-1 && issue old between 'subjectAltName=DNS:localhost' $ec)
        issue client root 'extendedKeyUsage=clientAuth' $ec
        cat leaf.pem between.pem > leaf-chain.pem
        cat old.pem between.pem > old-chain.pem
        openssl req -x509 -days 3 -subj "/CN=Trust self" -addext 'subjectAltName=DNS:localhost' -out self.pem -keyout self.key $ec
        openssl req -x509 -days 3 -subj "/CN=Trust stranger" -out stranger.pem -keyout stranger.key $ec
        cat self.pem between.pem > self-chain.pem
        openssl pkcs8 -topk8 -in client.key -out client-locked.key -passout pass:sesame
        openssl pkcs12 -export -in client.pem -inkey client.key -out client.p12 -passout pass:sesame
        """
}
