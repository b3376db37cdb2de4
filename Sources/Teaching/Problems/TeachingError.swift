/// The reason why a request to teach failed, as a sentence.
package enum TeachingError: Error, Equatable {
    /// A name, label or number is not allowed.
    case invalid(String)
    /// The object exists already with other properties, or the request is stale.
    case conflict(String)
    /// The taught model, label or example does not exist.
    case unknown(String)
    /// The version does not exist.
    case unknownVersion(String)
    /// A limit is reached, or the disk is full. The sentence names the setting.
    case full(String)
    /// Files cannot be read or written.
    case storage(String)

    package var message: String {
        switch self {
        case .invalid(let text), .conflict(let text), .unknown(let text), .unknownVersion(let text), .full(let text),
            .storage(let text):
            text
        }
    }
}
