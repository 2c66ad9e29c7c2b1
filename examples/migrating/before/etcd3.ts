import { Etcd3 } from 'etcd3';

const [hosts = '127.0.0.1:2379', everyMs = '1000'] = process.argv.slice(2);
const client = new Etcd3({ hosts });
const election = client.election('scheduler', 5);

const observer = await election.observe();
observer.on('change', (leader) => console.log(`${leader} leads`));

function run() {
  const campaign = election.campaign(String(process.pid));
  let schedule: NodeJS.Timeout | undefined;
  campaign.on('elected', () => {
    schedule = setInterval(() => console.log(`schedule of ${process.pid}`), Number(everyMs));
  });
  campaign.on('error', (error) => {
    clearInterval(schedule);
    console.error('lost', error);
    setTimeout(run, 5_000);
  });
  process.once('SIGTERM', () => {
    clearInterval(schedule);
    void campaign.resign().finally(() => process.exit());
  });
}
run();
