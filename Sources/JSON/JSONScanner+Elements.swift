extension JSONScanner {
    /// Reads an element that is not a number, or such elements in arrays nested to any rank, which must be regular, as
    /// ``numbers(maximum:end:name:fitting:takesBools:takesNull:usual:_:)`` reads numbers.
    /// - Parameters:
    ///   - name: the input, for errors.
    ///   - what: an element, for errors: "a string".
    ///   - element: reads one element.
    /// - Returns: the extents: none for a single element.
    package mutating func elements(
        name: String, _ what: String, _ element: (inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) -> [Int] {
        var nesting = Nesting(name: name, what: what)
        try read(&nesting, element)
        return nesting.extents.map { $0 ?? 0 }
    }

    private mutating func read(
        _ nesting: inout Nesting, _ element: (inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        let level = nesting.indexes.count
        guard try kind() == .array else {
            if let rank = nesting.rank, rank != level { throw nesting.irregular("an array", nesting.what) }
            nesting.rank = level
            return try element(&self)
        }
        if let rank = nesting.rank, level >= rank { throw nesting.irregular(nesting.what, "an array") }
        guard level < Self.maximumRank else {
            throw .value("input \"\(nesting.name)\": its arrays are nested deeper than \(Self.maximumRank) levels")
        }
        if nesting.extents.count == level { nesting.extents.append(nil) }
        nesting.indexes.append(0)
        var count = 0
        try array { (index, scanner) throws(JSONError) in
            nesting.indexes[level] = index
            count = index + 1
            try scanner.read(&nesting, element)
        }
        nesting.indexes.removeLast()
        if count == 0, nesting.rank == nil { nesting.rank = level + 1 }
        if let known = nesting.extents[level], known != count {
            throw nesting.irregular("an array of \(known)", "an array of \(count)")
        }
        nesting.extents[level] = count
    }

    private struct Nesting {
        let name: String, what: String
        /// By level; nil until the first array of the level has ended.
        var extents: [Int?] = []
        /// The indexes on the way to the next element.
        var indexes: [Int] = []
        /// The number of arrays around an element; nil before the first element.
        var rank: Int?

        func irregular(_ expected: String, _ found: String) -> JSONError {
            let place = indexes.map { "[\($0)]" }.joined()
            return .value(
                "input \"\(name)\": expected \(expected) at \(place), found \(found): the arrays are not regular")
        }
    }
}
