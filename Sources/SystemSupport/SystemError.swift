internal import Glibc

/// A failed system call.
package struct SystemError: Error, Sendable, Equatable {
    /// The name of the call, as in its manual page: `epoll_create1`.
    package let call: String
    /// The error number (errno), positive.
    package let number: Int32

    /// A failure of `call`.
    package init(_ call: String, number: Int32) {
        self.call = call
        self.number = number
    }

    /// The message: "pthread_create: Resource temporarily unavailable (11)".
    package var message: String { "\(call): \(Self.text(number))" }

    /// The system's text for an error number, followed by the number: "Address already in use (98)".
    package static func text(_ number: Int32) -> String { "\(words(number)) (\(number))" }

    /// The system's text for an error number, without the number: "Address already in use".
    package static func words(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
            // strerror(3) shares one buffer between all threads.
            guard let base = text.baseAddress, strerror_r(number, base, text.count) == 0 else { return "error" }
            return String(cString: base)
        }
    }
}
