/// The values in an answer that are each request's own, whoever else is answered alike.
enum OwnValue: Int {
    case requestID, total
}
