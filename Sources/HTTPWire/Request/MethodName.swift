/// Creates methods from bytes: common ones from constants, without allocation.
enum MethodName {
    static func method(_ name: ByteSlice) -> HTTPMethod {
        switch name.count {
        case 3 where name.equalsExactly("GET"): .get
        case 3 where name.equalsExactly("PUT"): .put
        case 4 where name.equalsExactly("POST"): .post
        case 4 where name.equalsExactly("HEAD"): .head
        case 7 where name.equalsExactly("OPTIONS"): .options
        default: HTTPMethod(rawValue: name.string)
        }
    }
}

extension ByteSlice {
    /// True if the slice equals `word`, including case.
    func equalsExactly(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        let expected = word.utf8Start
        for index in 0..<count where bytes[start &+ index] != expected[index] { return false }
        return true
    }
}
