import Glibc

/// What the system says of an error number, with the number: "Address already in use (98)".
func errorText(_ number: Int32) -> String {
    let message = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
        guard let base = text.baseAddress, strerror_r(number, base, text.count) == 0 else { return "error" }
        return String(cString: base)
    }
    return "\(message) (\(number))"
}
