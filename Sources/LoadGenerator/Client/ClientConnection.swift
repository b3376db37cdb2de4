/// A connection of the generator. Used only on the thread of its runner.
final class ClientConnection {
    enum Phase {
        case connecting
        /// Ready for a request.
        case idle
        /// The request's bytes up to `sent` were passed to the kernel.
        case sending
        case receiving
    }

    /// A request in progress.
    struct Request {
        /// The times at which it was due and was sent.
        let due: UInt64
        let sentAt: UInt64
        /// The index of its picture.
        let picture: Int
        /// True if it is in the measured period.
        let isMeasured: Bool
        /// The number of bytes sent so far.
        var sent = 0
    }

    let descriptor: Int32
    /// Distinguishes this connection from earlier ones with its descriptor.
    let registration: UInt32
    var phase = Phase.connecting
    var parser = ResponseParser()
    var request: Request?

    init(descriptor: Int32, registration: UInt32) {
        self.descriptor = descriptor
        self.registration = registration
    }

    var userData: UInt64 { UInt64(registration) << 32 | UInt64(UInt32(bitPattern: descriptor)) }
}
