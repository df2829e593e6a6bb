//! The words of the wire and the rules of the state: ids, requests, results, events, errors, statuses
