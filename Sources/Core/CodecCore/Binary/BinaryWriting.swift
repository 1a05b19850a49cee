// Writes everything in its shortest form, in both formats.
extension ByteWriter {
    /// Appends null.
    @inlinable public mutating func null(_ format: BinaryFormat) { append(format.isCBOR ? 0xF6 : 0xC0) }

    /// Appends true or false.
    @inlinable public mutating func bool(_ value: Bool, _ format: BinaryFormat) {
        append((format.isCBOR ? 0xF4 : 0xC2) | (value ? 1 : 0))
    }

    /// Appends an integer of at least 0.
    @inlinable public mutating func unsigned(_ value: UInt64, _ format: BinaryFormat) {
        if format.isCBOR { return cbor(major: 0, value) }
        switch value {
        case 0..<0x80: append(UInt8(truncatingIfNeeded: value))
        case 0x80...0xFF: append(0xCC, UInt8(truncatingIfNeeded: value))
        case 0x100...0xFFFF: append(0xCD, UInt16(truncatingIfNeeded: value))
        case 0x1_0000...0xFFFF_FFFF: append(0xCE, UInt32(truncatingIfNeeded: value))
        default: append(0xCF, value)
        }
    }

    /// Appends an integer.
    @inlinable public mutating func signed(_ value: Int64, _ format: BinaryFormat) {
        if value >= 0 { return unsigned(UInt64(bitPattern: value), format) }
        if format.isCBOR { return cbor(major: 1, UInt64(bitPattern: ~value)) }
        switch value {
        case -0x20..<0: append(UInt8(truncatingIfNeeded: value))
        case -0x80..<0: append(0xD0, Int8(truncatingIfNeeded: value))
        case -0x8000..<0: append(0xD1, Int16(truncatingIfNeeded: value))
        case -0x8000_0000..<0: append(0xD2, Int32(truncatingIfNeeded: value))
        default: append(0xD3, value)
        }
    }

    /// Appends a floating-point number in the fewest bytes that represent it exactly.
    ///
    /// All NaNs are written alike.
    @inlinable public mutating func float(_ value: Double, _ format: BinaryFormat) {
        let bits = value.bitPattern
        // Fast path: most numbers need more than 23 fraction bits.
        if bits & 0x1FFF_FFFF != 0, value == value { return append(format.isCBOR ? 0xFB : 0xCB, bits) }
        shortFloat(value, format)
    }

    @usableFromInline mutating func shortFloat(_ value: Double, _ format: BinaryFormat) {
        if format.isCBOR, let half = value.halfBits { return append(0xF9, half) }
        let single = value.isNaN ? Float.nan : Float(value)
        if value.isNaN || Double(single) == value { return append(format.isCBOR ? 0xFA : 0xCA, single.bitPattern) }
        append(format.isCBOR ? 0xFB : 0xCB, value.bitPattern)
    }

    /// Appends a text.
    @inlinable public mutating func text(_ text: String, _ format: BinaryFormat) throws(CodecError) {
        var text = text
        // A typed error cannot pass through the closure.
        var failure: CodecError?
        text.withUTF8 { bytes in
            do throws(CodecError) { try unsafe self.text(UnsafeRawBufferPointer(bytes), format) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Appends a text given as UTF-8.
    @unsafe @inlinable public mutating func text(_ utf8: UnsafeRawBufferPointer, _ format: BinaryFormat) throws(CodecError) {
        let length = utf8.count
        if format.isCBOR {
            cbor(major: 3, UInt64(length))
        } else if length < 0x20 {
            append(0xA0 | UInt8(truncatingIfNeeded: length))
        } else if length <= 0xFF {
            append(0xD9, UInt8(truncatingIfNeeded: length))
        } else {
            try longLength(length, short: 0xDA, long: 0xDB)
        }
        unsafe append(utf8)
    }

    /// Appends a byte string.
    @unsafe @inlinable public mutating func binary(_ bytes: UnsafeRawBufferPointer, _ format: BinaryFormat) throws(CodecError) {
        let length = bytes.count
        if format.isCBOR {
            cbor(major: 2, UInt64(length))
        } else if length <= 0xFF {
            append(0xC4, UInt8(truncatingIfNeeded: length))
        } else {
            try longLength(length, short: 0xC5, long: 0xC6)
        }
        unsafe append(bytes)
    }

    @usableFromInline mutating func longLength(_ length: Int, short: UInt8, long: UInt8) throws(CodecError) {
        if length <= 0xFFFF { return append(short, UInt16(length)) }
        // MessagePack supports no longer lengths.
        guard let length = UInt32(exactly: length) else { throw CodecError(.tooLarge, at: count) }
        append(long, length)
    }

    /// Appends the head of an array of this many values.
    public mutating func array(_ items: Int, _ format: BinaryFormat) throws(CodecError) {
        try close(at: open(), items: items, isMap: false, format)
    }

    /// Appends the head of a map of this many pairs.
    public mutating func map(_ pairs: Int, _ format: BinaryFormat) throws(CodecError) {
        try close(at: open(), items: pairs, isMap: true, format)
    }

    /// Reserves one byte for the head of a container whose length is not yet known.
    ///
    /// - Returns: The position of the head.
    @inlinable public mutating func open() -> Int {
        append(0)
        return count &- 1
    }

    /// Writes the reserved head of a container.
    ///
    /// The content moves if the head needs more than one byte.
    ///
    /// - Returns: By how many bytes the content moved.
    @discardableResult
    @inlinable public mutating func close(at place: Int, items: Int, isMap: Bool, _ format: BinaryFormat) throws(CodecError) -> Int {
        if format.isCBOR {
            guard items < 24 else { return closeWide(at: place, items: items, isMap: isMap, format) }
            set((isMap ? 0xA0 : 0x80) | UInt8(truncatingIfNeeded: items), at: place)
            return 0
        }
        guard items < 16 else {
            guard items <= UInt32.max else { throw CodecError(.tooLarge, at: count) }
            return closeWide(at: place, items: items, isMap: isMap, format)
        }
        set((isMap ? 0x80 : 0x90) | UInt8(truncatingIfNeeded: items), at: place)
        return 0
    }

    @usableFromInline mutating func closeWide(at place: Int, items: Int, isMap: Bool, _ format: BinaryFormat) -> Int {
        let before = count
        if format.isCBOR {
            let major: UInt8 = isMap ? 0xA0 : 0x80
            switch items {
            case ...0xFF: widen(at: place, to: major | 24, UInt8(items))
            case ...0xFFFF: widen(at: place, to: major | 25, UInt16(items))
            case ...0xFFFF_FFFF: widen(at: place, to: major | 26, UInt32(items))
            default: widen(at: place, to: major | 27, UInt64(items))
            }
        } else if items <= 0xFFFF {
            widen(at: place, to: isMap ? 0xDE : 0xDC, UInt16(items))
        } else {
            widen(at: place, to: isMap ? 0xDF : 0xDD, UInt32(items))
        }
        return count - before
    }

    /// Appends a tag; throws if the format has none.
    public mutating func tag(_ number: UInt64, _ format: BinaryFormat) throws(CodecError) {
        guard format.hasTags else { throw CodecError(.unsupported, at: count) }
        if format.isCBOR { cbor(major: 6, number) } else { append(0xC1, number) }
    }

    /// Appends an extension; throws if the format has none.
    @unsafe public mutating func `extension`(
        type: Int8, _ bytes: UnsafeRawBufferPointer, _ format: BinaryFormat
    ) throws(CodecError) {
        guard !format.isCBOR, let length = UInt32(exactly: bytes.count) else {
            throw CodecError(format.isCBOR ? .unsupported : .tooLarge, at: count)
        }
        switch length {
        case 1, 2, 4, 8, 16: append(0xD4 + UInt8(length.trailingZeroBitCount))
        case 0...0xFF: append(0xC7, UInt8(length))
        case 0x100...0xFFFF: append(0xC8, UInt16(length))
        default: append(0xC9, length)
        }
        append(UInt8(bitPattern: type))
        unsafe append(bytes)
    }

    @inlinable mutating func cbor(major: UInt8, _ argument: UInt64) {
        let kind = major << 5
        switch argument {
        case 0..<24: append(kind | UInt8(truncatingIfNeeded: argument))
        case 24...0xFF: append(kind | 24, UInt8(truncatingIfNeeded: argument))
        case 0x100...0xFFFF: append(kind | 25, UInt16(truncatingIfNeeded: argument))
        case 0x1_0000...0xFFFF_FFFF: append(kind | 26, UInt32(truncatingIfNeeded: argument))
        default: append(kind | 27, argument)
        }
    }
}
