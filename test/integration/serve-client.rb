# A client of `incumbent serve` in Ruby, with its standard library alone.
#
# usage: serve-client.rb http://127.0.0.1:4040 ELECTION ID
#
# One thread asks, and the other one works. Prints "work TERM TIME" every 10 ms while it leads. TIME
# is the reading of the clock, in ns, that the client has compared with its deadline.

require "json"
require "net/http"

base, election, candidacy = ARGV
$path = URI("#{base}/elections/#{election}/candidacies/#{candidacy}")
ASK_EVERY = 0.2

# An answer that is an error.
class StatusError < StandardError
  attr_reader :status

  def initialize(status)
    super("the sidecar answers #{status}")
    @status = status
  end
end

$secret = nil
# The term and the deadline. The lock is held during each act.
$lead = [nil, 0.0]
$acting = Mutex.new

def call(method, uri, body = nil)
  headers = { "content-type" => "application/json" }
  headers["candidacy-secret"] = $secret unless $secret.nil?
  Net::HTTP.start(uri.host, uri.port, open_timeout: 1, read_timeout: 1) do |http|
    response = http.send_request(method, uri.path, body&.to_json, headers)
    raise StatusError, response.code.to_i unless response.is_a?(Net::HTTPSuccess)

    JSON.parse(response.body)
  end
end

def get(path)
  call("GET", path)
end

def ask(path)
  $secret ||= call("PUT", path, { renewWithinMs: 2000 })["secret"]
  asked = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  answer = get(path)
  till = asked + answer["validForMs"] / 1000.0
  $acting.synchronize { $lead = [answer["term"], till] }
  if answer["state"] == "stopping"
    call("POST", URI("#{path}/acknowledge"), { term: answer["term"] })
  end
end

def work
  loop do
    $acting.synchronize do
      term, till = $lead
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      puts "work #{term} #{(now * 1e9).to_i}" if now < till
    end
    sleep 0.01
  end
end

$stdout.sync = true
Thread.new { work }
loop do
  begin
    ask($path)
  rescue StatusError => e
    # 404: the candidacy is over. 409: a former one is not over yet.
    $secret = nil if [404, 409].include?(e.status)
  rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError
    # The sidecar does not answer: the last deadline stands.
  end
  sleep ASK_EVERY
end
