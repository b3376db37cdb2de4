/// One connection of the generator. Belongs to the thread of its runner.
final class ClientConnection {
    enum Phase {
        case connecting
        /// Ready for a request.
        case idle
        /// The request's bytes up to `sent` have been handed to the kernel.
        case sending
        case receiving
    }

    /// A request on its way.
    struct Request {
        /// The times when it was due and when it was sent.
        let due: UInt64
        let sentAt: UInt64
        /// The number of the request.
        let picture: Int
        /// True if it is within the measured time.
        let isMeasured: Bool
        /// Bytes sent so far.
        var sent = 0
    }

    let descriptor: Int32
    /// Tells this connection from others that had its descriptor before.
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
