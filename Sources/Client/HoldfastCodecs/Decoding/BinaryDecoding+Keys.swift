import CodecCore

extension BinaryDecoding {
    /// Moves to the value of a key in the map at a level; returns false if the map has no such key.
    @inline(__always) func find<Key: CodingKey>(_ key: Key, _ start: Int, _ level: Int) throws -> Bool {
        if frames.count != level + 1 || frames[level].start != start { try enter(start, level, isMap: true, [String: Any].self) }
        do throws(CodecError) {
            if try nextIs(key.stringValue, level) { return true }
            return try look(for: key.stringValue, key.intValue, level)
        } catch { throw corrupt(level, error) }
    }

    /// Returns whether the next key is this text; if so, the reader is at its value.
    private func nextIs(_ text: String, _ level: Int) throws(CodecError) -> Bool {
        guard !frames[level].isKnown, hasNext(level) else { return false }
        let place = reader.position
        guard case .text(let length) = try reader.head(format), length == text.utf8.count else { return false }
        guard try reader.take(length).equals(text) else { return false }
        frames[level].place = Place(key: place, value: reader.position)
        return true
    }

    /// Searches all keys of the map, starting after the key that was found last.
    private func look(for text: String, _ number: Int?, _ level: Int) throws(CodecError) -> Bool {
        if !frames[level].isKnown { try learn(level) }
        let (known, base, next) = (frames[level].index, frames[level].base, frames[level].next)
        for step in 0..<known {
            let index = next + step < known ? next + step : next + step - known
            let place = places[base + index]
            reader.move(to: place.key)
            guard try keyIs(text, number) else { continue }
            frames[level].place = place
            frames[level].next = index + 1
            reader.move(to: place.value)
            return true
        }
        return false
    }

    private func keyIs(_ text: String, _ number: Int?) throws(CodecError) -> Bool {
        let start = reader.position
        switch try reader.head(format) {
        case .text(let length): return length == text.utf8.count ? try reader.take(length).equals(text) : false
        case .unsigned(let found): return number.map { UInt64(exactly: $0) == found } ?? false
        case .negative(let found): return number.map { $0 < 0 && UInt64(~$0) == found } ?? false
        case .openText: return try reader.openText(from: start, format) == text
        default: return false
        }
    }

    /// Records the positions of the remaining keys of the map at a level.
    private func learn(_ level: Int) throws(CodecError) {
        let passed = frames[level].index
        while hasNext(level) {
            let key = reader.position
            try reader.skipValue(format)
            frames[level].place = Place(key: key, value: reader.position)
            try reader.skipValue(format)
            pass(level)
        }
        frames[level].isKnown = true
        frames[level].next = passed
    }

    @inline(__always) private func pass(_ level: Int) {
        places.append(frames[level].place)
        frames[level].position = reader.position
        frames[level].index += 1
    }

    /// Records that the value of the found key has been decoded.
    @inline(__always) func passed(_ level: Int) {
        if !frames[level].isKnown { pass(level) }
    }

    /// Returns all keys of the map at a level that are texts or integers; an error in a key is thrown at the end of the decoding.
    func keys(_ start: Int, _ level: Int) -> [PathKey] {
        do {
            try enter(start, level, isMap: true, [String: Any].self)
            do throws(CodecError) { return try readKeys(level) } catch { throw corrupt(level, error) }
        } catch {
            fail(error)
            return []
        }
    }

    private func readKeys(_ level: Int) throws(CodecError) -> [PathKey] {
        var keys: [PathKey] = []
        let (seen, position) = (frames[level].index, frames[level].position)
        guard !frames[level].isKnown else {
            for index in 0..<seen { if let key = try readKey(at: places[frames[level].base + index].key) { keys.append(key) } }
            return keys
        }
        (frames[level].index, frames[level].position) = (0, frames[level].first)
        defer { (frames[level].index, frames[level].position) = (seen, position) }
        while hasNext(level) {
            let place = reader.position
            if let key = try readKey(at: place) { keys.append(key) }
            reader.move(to: place)
            try reader.skipValue(format)
            try reader.skipValue(format)
            frames[level].position = reader.position
            frames[level].index += 1
        }
        return keys
    }

    /// Returns the key at a position if it is a text or an integer.
    func key(at place: Int) -> PathKey? { try? readKey(at: place) }

    private func readKey(at place: Int) throws(CodecError) -> PathKey? {
        reader.move(to: place)
        switch try reader.head(format) {
        case .text(let length): return PathKey(stringValue: try reader.text(length))
        case .openText: return PathKey(stringValue: try reader.openText(from: place, format))
        case .unsigned(let number): return Int(exactly: number).map { PathKey(intValue: $0) }
        case .negative(let number): return Int(exactly: number).map { PathKey(intValue: ~$0) }
        default: return nil
        }
    }
}
